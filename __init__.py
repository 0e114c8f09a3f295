"""ssql compiles window-stream SQL to Spark Structured Streaming."""

__version__ = "0.1.0"

"""What generated code imports: the operators that Spark lacks, sources, sinks and the run loop.

The plans of this version are native Spark: they import nothing from here.
"""

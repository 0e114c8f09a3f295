"""What runs a job: the Spark session, progress, sinks, checkpoints and the run loop.

Emitted code of native plans imports nothing from here.
"""

"""What a plan costs: CPU, state and delay, from what is known of the rows.

`workload.py` is what comes into an aggregate, `amounts.py` how much of everything a plan does with
it (Eq. 6.1 to 6.9 of Li's thesis, for Spark), `constants.py` what each of these takes here, and
`estimate.py` puts them together.
"""

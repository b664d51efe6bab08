"""How sure a number is: intervals for means, paired differences and quantiles, without drawing a random number."""

"""Skills as a run has them: found, mentioned, activated, executed, and those that come and go."""

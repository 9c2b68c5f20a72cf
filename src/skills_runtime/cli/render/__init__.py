"""What commands show: views of a run while it works, tables and pages of runs that are there."""

"""What every room stands on: contracts, records, factors, random numbers, files."""

"""Kim & Mnih 2018, Disentangling by Factorising."""

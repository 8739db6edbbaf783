"""What scores fit to predict factors from codes: linear machines and Lassos, of few codes and of many, and boosted trees."""

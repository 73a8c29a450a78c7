"""Masked text as a job: settings, recipes, what is fed, how it is measured."""

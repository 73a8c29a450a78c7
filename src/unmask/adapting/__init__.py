"""A trained model moved into a domain: masked text as a job whose learner comes from a directory."""

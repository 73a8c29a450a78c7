"""Ids on disk: what training reads, and the manifest that knows every byte. No corpus engine is loaded here."""

"""Molecules: files of SMILES, their properties, pictures and features."""

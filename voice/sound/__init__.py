"""Sound on its way in and out: files, encodings, sample rates; the rest of the house knows 16 kHz int16."""

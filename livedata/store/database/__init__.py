"""The machinery below the nouns: transactions, one file per database, tables, codecs."""

"""Can the speakers of a roundtable be told apart by voice alone (AC-010-04, NFR-002)?"""

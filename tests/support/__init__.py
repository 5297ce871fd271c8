"""What tests share: sample data, back-ends, servers, accounts. Imported as `support`; nothing here is a test."""

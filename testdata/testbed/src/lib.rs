//! Real servers and tools for the tests.

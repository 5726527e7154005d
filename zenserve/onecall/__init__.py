"""One call: what ``zenserve`` itself offers."""

"""What callers ask for, over HTTP or in the dashboard: checked, made rows, queued. It knows neither."""

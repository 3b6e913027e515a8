"""The server: live calls from browsers and telephone lines, and what watches over them."""

"""What a person types, and what each command does then."""

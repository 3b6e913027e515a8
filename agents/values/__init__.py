"""Values as callers speak them: numbers, amounts, dates, times, telephones, addresses, names, choices."""

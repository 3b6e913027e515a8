-- The demo bank's books. Everything a caller owns hangs on customer, so that one WHERE keeps callers apart.
PRAGMA foreign_keys = ON;
CREATE TABLE customer (id TEXT PRIMARY KEY, name TEXT NOT NULL, phone TEXT NOT NULL) STRICT;
CREATE TABLE account (
  customer TEXT NOT NULL REFERENCES customer, kind TEXT NOT NULL CHECK (kind IN ('checking', 'savings')),
  cents INTEGER NOT NULL CHECK (cents >= 0), PRIMARY KEY (customer, kind)) STRICT;
CREATE TABLE branch (name TEXT PRIMARY KEY, opens TEXT NOT NULL, closes TEXT NOT NULL, days TEXT NOT NULL) STRICT;
-- What callers had done, once each: the key is the call's and the turn's.
CREATE TABLE done (
  key TEXT PRIMARY KEY, customer TEXT NOT NULL REFERENCES customer, what TEXT NOT NULL,
  details TEXT NOT NULL, said TEXT NOT NULL) STRICT;
INSERT INTO customer VALUES ('1001', 'Patricia Brown', '7151390787'), ('1002', 'Robert Johnson', '2454969863');
INSERT INTO account VALUES
  ('1001', 'checking', 2500000), ('1001', 'savings', 4800000), ('1002', 'checking', 13400), ('1002', 'savings', 9900);
INSERT INTO branch VALUES ('Harper Valley', 'nine thirty a m', 'five p m', 'Monday to Saturday');

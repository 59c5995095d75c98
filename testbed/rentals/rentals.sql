-- A DVD rental, modelled on the paper's: 1,000 films, 600 customers, 16,000 rentals, some of which have not been
-- returned. Rentals have no index except their number, so a statement that searches for rentals reads all of them.
-- Pages therefore differ in their times.
CREATE DATABASE rentals;
CREATE USER 'web'@'%' IDENTIFIED BY 'web';
GRANT SELECT ON rentals.* TO 'web'@'%';
USE rentals;

CREATE TABLE film (
  id INT PRIMARY KEY,
  title VARCHAR(80) NOT NULL,
  days INT NOT NULL,
  rate DECIMAL(5, 2) NOT NULL
);
INSERT INTO film SELECT seq, CONCAT('Film no. ', seq * 7919 % 9973), 3 + seq % 5, (99 + seq * 37 % 400) / 100 FROM seq_1_to_1000;

CREATE TABLE customer (
  id INT PRIMARY KEY,
  name VARCHAR(80) NOT NULL
);
INSERT INTO customer SELECT seq, CONCAT('Customer no. ', seq * 104729 % 9967) FROM seq_1_to_600;

CREATE TABLE rental (
  id INT PRIMARY KEY,
  film INT NOT NULL,
  customer INT NOT NULL,
  rented DATE NOT NULL,
  returned DATE
);
INSERT INTO rental
SELECT seq, 1 + seq * 48271 % 1000, 1 + seq * 16807 % 600, '2026-01-01' + INTERVAL seq % 300 DAY,
       IF(seq % 40 = 0, NULL, '2026-01-01' + INTERVAL seq % 300 + 2 DAY)
FROM seq_1_to_16000;

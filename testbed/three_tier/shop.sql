-- The shop's data: 300 products with a page of text each, and their sales, which lack an index on the product.
-- Because that index is missing, a page from the database takes several times as long as one from the cache.
CREATE DATABASE shop;
CREATE USER 'shop'@'%' IDENTIFIED BY 'shop';
GRANT SELECT ON shop.* TO 'shop'@'%';
USE shop;

CREATE TABLE product (
  id INT PRIMARY KEY,
  name VARCHAR(80) NOT NULL,
  price DECIMAL(10, 2) NOT NULL,
  description TEXT NOT NULL
);
INSERT INTO product (id, name, price, description)
SELECT seq, CONCAT('Product no. ', seq), (seq * 37 % 10000) / 100,
       REPEAT(CONCAT('Part ', seq * 7919 % 9973, ' fits model ', seq * 104729 % 9967, '. '), 80)
FROM seq_1_to_300;

CREATE TABLE sale (
  id INT PRIMARY KEY,
  product_id INT NOT NULL,
  quantity INT NOT NULL,
  note CHAR(40) NOT NULL
);
INSERT INTO sale (id, product_id, quantity, note)
SELECT seq, 1 + seq * 48271 % 300, 1 + seq % 5, SHA1(seq)
FROM seq_1_to_46000;

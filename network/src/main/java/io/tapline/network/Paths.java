package io.tapline.network;

/** The cheapest path between any two edge switches, without the links to hosts. */
@FunctionalInterface
interface Paths {
  Path between(int edgeA, int edgeB);
}

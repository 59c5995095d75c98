/**
 * Places a query in a known network: the switches that mirror, and the hosts of everything that
 * runs.
 */
package io.tapline.compiler.network;

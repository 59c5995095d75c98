/** Places a query in a known network: the switches that mirror, and the hosts of all processes. */
package io.tapline.compiler.network;

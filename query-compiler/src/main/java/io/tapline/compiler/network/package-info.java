/** Places a query in a known network: chooses switches that mirror, and hosts for processes. */
package io.tapline.compiler.network;

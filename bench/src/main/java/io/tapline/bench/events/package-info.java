/** Measures the latency of events, from a packet to a client, and the share that arrives. */
package io.tapline.bench.events;

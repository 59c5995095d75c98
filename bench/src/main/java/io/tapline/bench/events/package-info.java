/** How long events take from a packet to a client, and how many of them arrive. */
package io.tapline.bench.events;

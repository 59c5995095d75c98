/**
 * Where monitors, aggregators and processors run: a network as a value, the strategies of
 * NetAlytics and better ones, the exact optimum, and changes to what runs. No I/O.
 */
package io.tapline.placement;

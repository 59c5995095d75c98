/**
 * Decides where monitors, aggregators and processors run: a network as a value, the strategies of
 * NetAlytics and better ones, the exact optimum, and changes to running deployments. No I/O.
 */
package io.tapline.placement;

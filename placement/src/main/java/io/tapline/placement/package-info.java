/**
 * Decides where monitors, aggregators and processors run: the strategies of NetAlytics and better
 * ones, the exact optimum, and changes to running deployments. No I/O.
 */
package io.tapline.placement;

/**
 * Routes of the server itself: health, metrics, the catalogue, the network and its links, and the
 * dashboard.
 */
package io.tapline.control.rest.system;

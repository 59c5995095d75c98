/** Routes of the server itself: health, metrics, the catalogue, the network, the dashboard. */
package io.tapline.control.rest.system;

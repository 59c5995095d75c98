/** The placement experiments of NetAlytics, section 6.2 (Figures 7 and 8), and our own. */
package io.tapline.sim.placement;

/** Creates and removes a network of Open vSwitch bridges and network namespaces on one machine. */
package io.tapline.control.testbed;

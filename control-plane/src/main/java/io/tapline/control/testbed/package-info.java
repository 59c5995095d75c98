/** A real network on one host: Open vSwitch bridges and namespaces, made and removed. */
package io.tapline.control.testbed;

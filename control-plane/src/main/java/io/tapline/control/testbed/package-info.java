/** Creates and removes a real network on one host, made of Open vSwitch bridges and namespaces. */
package io.tapline.control.testbed;

/** Triggers that the monitor tests on packets: their conditions, their groups and their cost. */
package io.tapline.compiler.packets;

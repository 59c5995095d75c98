/** Which port leads to which host, as flows, and the order in which flows change. */
package io.tapline.sdn.forwarding;

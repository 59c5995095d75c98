/** Mirror tables as flows, and where other controllers fit in. */
package io.tapline.sdn.mirror;

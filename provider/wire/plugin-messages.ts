// The messages of the services that every plugin has in addition to its provider.
import { defineMessage, integer } from '../../server/lib/shared/protobuf.ts';

export const Nothing = defineMessage({});
export const HealthReply = defineMessage({ status: integer(1) });
export const serving = 1;

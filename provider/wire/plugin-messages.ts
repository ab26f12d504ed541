// The messages of what every plugin serves beside its provider.
import { defineMessage, integer } from './protobuf.ts';

export const Nothing = defineMessage({});
export const HealthReply = defineMessage({ status: integer(1) });
export const serving = 1;

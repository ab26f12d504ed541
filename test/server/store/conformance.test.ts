// Runs the store suite on every backend.
import { storeConformance } from '../../conformance/store.ts';
import { openMemory, openSqlite } from '../../support/store/open.ts';

storeConformance('memory', openMemory);
storeConformance('sqlite', openSqlite);

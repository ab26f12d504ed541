// Runs before each test file: removes its temporary folders afterwards.
import { afterAll } from 'vitest';
import { removeTempFolders } from './temp-folder.ts';

// The hooks of the file itself come first.
afterAll(removeTempFolders);

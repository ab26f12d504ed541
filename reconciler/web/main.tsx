// Starts the page: theme, router, clock, session, and the first drawing.
import { render } from 'preact';
import { readSession } from './data/store.ts';
import { startClock } from './parts/time.tsx';
import { App } from './shell/app.tsx';
import { startRouter } from './data/router.ts';
import { startShortcuts } from './shell/shortcuts.tsx';
import { startTheme } from './data/theme.ts';
import './style/tokens.css';
import './style/base.css';
import './style/controls.css';
import './style/frame.css';
import './style/views.css';
import './style/objects.css';

startTheme();
startRouter();
startShortcuts();
startClock();
const element = document.querySelector('#app');
if (element) render(<App />, element);
void readSession();

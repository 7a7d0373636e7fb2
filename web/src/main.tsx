// The page begins here.
import './style/tokens.css';
import './style/base.css';
import './parts/parts.css';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App, loadScreens } from './app.tsx';
import { applyTheme } from './shell/preferences.ts';

applyTheme();
await loadScreens(location.pathname).catch(() => {});
const place = document.getElementById('page');
if (place !== null)
  createRoot(place).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );

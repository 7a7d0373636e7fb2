// Starts the web UI.
import './style/all.css';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './App.tsx';
import { hasFiles } from './components/images.ts';
import { applyTheme } from './layout/preferences.ts';

/** A browser opens a file that is dropped outside of a message box, and leaves the web UI. */
function rejectFileDrops(): void {
  const reject = (event: DragEvent) => {
    if (event.defaultPrevented || event.dataTransfer === null || !hasFiles(event.dataTransfer)) return;
    event.preventDefault();
    event.dataTransfer.dropEffect = 'none';
  };
  addEventListener('dragover', reject);
  addEventListener('drop', reject);
}

applyTheme();
rejectFileDrops();
const root = document.getElementById('page');
if (root !== null)
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );

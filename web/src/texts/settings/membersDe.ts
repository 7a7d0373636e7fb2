// Each member of the settings record as a field, in German.
import type { AllMemberTexts } from './membersEn.ts';

export const membersDe: AllMemberTexts = {
  llm_model: {
    label: 'Modell',
    hint: 'Der Anbieter zuerst, wie anthropic/claude-sonnet-4-5. Auch andere als die angebotenen gehen.',
    usual: 'keines, und ohne eines können Agenten nicht arbeiten',
  },
  llm_api_key: { label: 'Schlüssel des Modells', hint: 'Er gelangt nie in die Sandbox eines Agenten.' },
  llm_base_url: {
    label: 'Adresse',
    hint: 'Nur für einen eigenen Server, der OpenAI Chat Completions spricht.',
    usual: 'die des Anbieters',
  },
  max_iterations: {
    label: 'Modellanfragen je Nachricht',
    hint: 'Nach so vielen hält der Agent an und wartet auf dich. 1 bis 100.000.',
    usual: 'keine Grenze',
  },
  max_budget_per_task: {
    label: 'Budget eines Gesprächs, in US-Dollar',
    hint: 'Was das Modell insgesamt kosten darf; danach hält es an.',
    usual: 'keine Grenze',
  },
  enable_default_condenser: {
    label: 'Lange Gespräche verdichten',
    hint: 'Die ältesten Nachrichten weichen Notizen, wo ein Verlauf zu lang für sein Modell ist.',
    usual: 'an',
  },
  agent: {
    label: 'Agent',
    hint: 'Andere Agenten als der eingebaute müssen dort installiert sein, wo Parley läuft.',
    usual: 'der eingebaute Agent',
  },
  confirmation_mode: {
    label: 'Fragen, bevor der Agent handelt',
    hint: 'Befehle, Änderungen an Dateien und Werkzeuge warten auf deine Antwort.',
    usual: 'aus',
  },
  security_analyzer: {
    label: 'Wonach gefragt wird',
    hint: 'Welche Schritte deine Antwort brauchen, wo der Agent fragt.',
    usual: 'jeder Schritt',
  },
  sandbox_runtime_container_image: {
    label: 'Image',
    hint: 'Für Sandboxen von Docker, und nur eines, das der Betreiber erlaubt.',
    usual: 'das des Betreibers',
  },
  remote_runtime_resource_factor: {
    label: 'Ressourcenfaktor',
    hint: 'Vervielfacht, wie viel Speicher und wie viele Prozesse ein Agent nehmen darf. 1 bis 16.',
    usual: '1',
  },
  language: {
    label: 'Sprache',
    hint: 'Der Seite, die Englisch und Deutsch spricht, und der Antworten der Agenten.',
    usual: 'Englisch',
  },
  enable_sound_notifications: {
    label: 'Töne',
    hint: 'Ein Ton, wenn ein Agent fertig ist oder auf dich wartet.',
    usual: 'aus',
  },
  email: { label: 'E-Mail', hint: 'Deine eigene Adresse.', usual: 'keine' },
  enable_proactive_conversation_starters: {
    label: 'Gespräche vorschlagen',
    hint: 'Ob Clients Aufgaben anbieten, die sie gefunden haben.',
    usual: 'an',
  },
  enable_solvability_analysis: {
    label: 'Beurteilen, ob Issues lösbar sind',
    hint: 'Ob Clients sich ein Issue ansehen, bevor sie beginnen.',
    usual: 'an',
  },
  user_consents_to_analytics: {
    label: 'Einwilligung in Auswertungen',
    hint: 'Parley selbst sammelt nichts, was immer du antwortest.',
    usual: 'nicht beantwortet',
  },
  sandbox_base_container_image: {
    label: 'Grund-Image',
    hint: 'Aus dem andere Clients das Image einer Sandbox bauen.',
    usual: 'keines',
  },
  sandbox_api_key: { label: 'Schlüssel der Sandbox', hint: 'Für Sandboxen, die andere betreiben.' },
  git_user_name: { label: 'Name des Autors', hint: 'An den Commits der Agenten.', usual: 'parley' },
  git_user_email: {
    label: 'E-Mail des Autors',
    hint: 'An den Commits der Agenten.',
    usual: 'parley@localhost',
  },
  search_api_key: { label: 'Schlüssel von Tavily', hint: 'Damit können Agenten im Web suchen.' },
};

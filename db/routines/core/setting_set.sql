-- Changes a setting, or the whole policy, between two messages, and tells everything that changed with it.
--   * A value is given as core.setting_view shows it: 30s, 2m, on/off, "1s 5s 30s" or {1s,5s,30s} for a ladder, commas in other lists.
--   * "policy" takes a preset, retain or ledger, and sets the eight switches (design section 7).
--   * A ladder brings its attempts with it: one more than its steps (implementation.md 9.1).
--   * What a CHECK of core.setting or a rule below refuses changes nothing. core.setting_log remembers who changed what.
-- Reads:  core.setting, inbox.proc_state (whether identities are bound), the catalogue
-- Writes: core.setting, through its trigger core.setting_log
-- Locks:  core.pipeline_lock PIPELINE (so it waits for the pump's batch, at most 15 seconds), the row of core.setting
-- Raises: 22023 no such setting, or a value that it cannot have; MX013 the identity may not change any more; 55P03 the pump did not pause
create or replace function core.setting_set(p_key text, p_value text)
returns table (key text, old text, new text)
language plpgsql
volatile
security definer
set search_path to ''
set lock_timeout to '15s'
as $fn$
#variable_conflict use_column
declare
  v_column record;
  v_value text := btrim(p_value);
  v_before core.setting;
  v_after core.setting;
  v_attempts text;
  v_assignments text;
  v_refused text;
  v_bad text;
  v_message text;
  v_constraint text;
begin
  select * into strict v_column from core.setting_column(case when lower(btrim(p_key)) = 'policy' then 'msgx.policy' else p_key end);

  begin
    perform from core.pipeline_lock l where l.name = 'PIPELINE' for update;
  exception
    when lock_not_available then
      raise exception using
        errcode = 'lock_not_available',
        message = format('%s was not changed: the pump did not pause within 15 seconds', v_column.key),
        hint = 'A long day plan or a deployment is at work; try again.';
  end;
  select * into strict v_before from core.setting s for update;

  begin
    if v_value is null then
      v_refused := 'a setting always has a value';
    else
      case
        when v_column.column_name = 'policy' then
          v_assignments := case lower(v_value)
            when 'retain' then
              $set$policy_absent_field = 'KEEP', policy_absent_flight = 'KEEP', policy_deletion = 'MARK', policy_tombstone = 'NULL',
              policy_unknown_flop = 'IGNORE', policy_allocation_flop = 'REFUSE', policy_unasked_resp = 'SKIP', policy_code_share = 'LINKED'$set$
            when 'ledger' then
              $set$policy_absent_field = 'CLEAR', policy_absent_flight = 'DELETE', policy_deletion = 'REMOVE', policy_tombstone = 'JSON',
              policy_unknown_flop = 'CREATE', policy_allocation_flop = 'REPLACE', policy_unasked_resp = 'APPLY',
              policy_code_share = 'INDEPENDENT'$set$
          end;
          if v_assignments is null then
            v_refused := 'it is a preset, retain or ledger; the single switches are msgx.policy.…';
          end if;

        when v_column.column_name like 'policy\_%' then
          v_value := upper(v_value);

        when v_column.column_name = 'airport_timezone' then
          select z.name into v_value from pg_catalog.pg_timezone_names z where lower(z.name) = lower(btrim(p_value)) limit 1;
          if not found then
            v_value := btrim(p_value);
            v_refused := 'it is the name of a time zone with its rules, such as Asia/Shanghai (pg_timezone_names lists them)';
          end if;

        when v_column.column_name = 'identity_include_day_boundary' then
          if exists (select from inbox.proc_state m where m.identity_key is not null) and v_value::boolean <> v_before.identity_include_day_boundary then
            raise exception using
              errcode = 'MX013',
              message = format('%s was not changed: messages already have identities of the present form', v_column.key),
              hint = 'Another form would take every resend for a new message (implementation.md 2). It can be chosen on a new installation only.';
          end if;

        when v_column.type = 'interval[]' then
          if v_value !~ '^\{.*\}$' then
            v_value := '{' || array_to_string(regexp_split_to_array(v_value, '[\s,]+'), ',') || '}';
          end if;
          if array_ndims(v_value::interval[]) > 1 or exists (select from unnest(v_value::interval[]) w where w is null or w <= interval '0') then
            v_refused := 'a ladder is a list of waits longer than nothing, such as 1s 5s 30s 2m';
          end if;
          v_attempts := case v_column.column_name
            when 'pipeline_ladder_infra' then 'pipeline_attempts_infra'
            when 'pipeline_ladder_codec_error' then 'pipeline_attempts_codec_error'
            when 'pipeline_ladder_unsupported' then 'pipeline_attempts_unsupported'
            when 'pipeline_event_ladder' then 'pipeline_event_attempts'
          end;

        when v_column.type = 'text[]' then
          if v_value !~ '^\{.*\}$' then
            v_value := array(select btrim(e) from unnest(string_to_array(v_value, ',')) e where btrim(e) <> '')::text;
          end if;
          if v_column.column_name = 'pipeline_ignore' then
            select string_agg(e, ', ') into v_bad from unnest(v_value::text[]) e
            where e is null or e !~ '^[A-Za-z0-9_]{1,16}-([A-Za-z0-9_]{1,16}|\*)$';
            if v_bad is not null then
              v_refused := format('%s is no rule of the form TYPE-STYP or TYPE-*', v_bad);
            end if;
          else
            select string_agg(e, ', ') into v_bad from unnest(v_value::text[]) e
            where e is null or e !~ '^[A-Z][A-Z0-9_]{1,30} (datetime|(text|integer|datetime-or-text)( [1-9][0-9]{0,3})?)$';
            if v_bad is not null then
              v_refused := format('%s is not of the form TAG text|integer|datetime|datetime-or-text [length]', v_bad);
            end if;
            select string_agg(t.tag, ', ') into v_bad
            from (select split_part(e, ' ', 1) as tag, count(*) as times from unnest(v_value::text[]) e group by 1) t
            where t.times > 1
              or t.tag in ('GTDT', 'CKDT', 'CLDT', 'CHDT', 'PSDT', 'CHOT', 'DELY', 'ABTM', 'ROUT', 'ERUT', 'SRVT', 'VIPF', 'MAFL',
                           'FDIV', 'FRET', 'FFID', 'RECS')
              or exists (
                select from pg_catalog.pg_attribute a
                where a.attrelid = 'flight.flight_schd'::regclass and a.attnum > 0 and a.attname = lower(t.tag));
            if v_refused is null and v_bad is not null then
              v_refused := format('the catalogue has %s already', v_bad);
            end if;
          end if;

        when v_column.column_name in (
            'pipeline_attempts_infra', 'pipeline_attempts_codec_error', 'pipeline_attempts_unsupported', 'pipeline_event_attempts') then
          if v_value is distinct from (to_jsonb(v_before) ->> v_column.column_name) then
            v_refused := format('the attempts follow from the ladder; set %s instead',
              replace(v_column.key, 'attempts', 'ladder'));
          end if;

        else
          null;
      end case;
    end if;

    if v_refused is null then
      v_assignments := coalesce(v_assignments,
        format('%I = %L::%s', v_column.column_name, v_value, v_column.type)
        || case when v_attempts is null then '' else format(', %I = cardinality(%L::interval[]) + 1', v_attempts, v_value) end);
      execute 'update core.setting set ' || v_assignments;
    else
      raise exception using errcode = 'invalid_parameter_value', message = v_refused;
    end if;
  exception
    when check_violation or not_null_violation or invalid_parameter_value or data_exception then
      get stacked diagnostics v_message = message_text, v_constraint = constraint_name;
      select pg_get_constraintdef(c.oid) into v_message
      from pg_catalog.pg_constraint c
      where c.conrelid = 'core.setting'::regclass and c.conname = v_constraint
      union all
      select v_message
      limit 1;
      raise exception using
        errcode = 'invalid_parameter_value',
        message = format('%s cannot be %L: %s', v_column.key, p_value, v_message),
        hint = format('%s: %s. It stays %s.', v_column.key, v_column.description,
          (select t.value from core.setting s cross join lateral core.setting_text(s) t where t.column_name = v_column.column_name));
  end;

  select * into strict v_after from core.setting s;
  return query
  select c.key, o.value, n.value
  from core.setting_text(v_before) o
  join core.setting_text(v_after) n on n.column_name = o.column_name
  cross join lateral core.setting_column(o.column_name) c
  where o.value is distinct from n.value or o.column_name = v_column.column_name
  order by (o.column_name = v_column.column_name) desc, c.key;
end
$fn$;

comment on function core.setting_set(text, text) is 'Changes a setting between two messages; returns everything that changed with it';
grant execute on function core.setting_set(text, text) to msgx_operator;
